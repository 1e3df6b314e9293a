import { expect } from 'chai';
import { ExchangeRecorder, newUserTexts } from 'mortise/contracts/models';
import type { SessionsService } from 'mortise/contracts/sessions';
import { MortiseError, platformPrincipal } from 'mortise/sdk';
import { silentLog } from 'mortise/sdk/testing';

const call = {
  signal: new AbortController().signal,
  log: silentLog,
  principal: platformPrincipal,
  requestId: 'req-1',
  correlationId: 'corr-1',
  trace: { traceId: '0'.repeat(32), spanId: '0'.repeat(16), sampled: false },
};

const exchange = {
  session: { channel: 'console', userId: 'ada', sessionId: 's1' },
  input: ['a canary'],
  reply: 'a canary',
  model: { providerId: 'demo', model: 'demo-chat' },
  usage: undefined,
};

describe('the recorder of exchanges', () => {
  it('only logs that recording failed, without any text (A80)', async () => {
    const lines: string[] = [];
    const log = { ...silentLog, warn: (...line: unknown[]) => void lines.push(JSON.stringify(line)) };
    const openTurn: SessionsService['openTurn'] = async () => {
      throw new MortiseError('store_error', 'The database does not answer.');
    };
    const recorder = new ExchangeRecorder({ current: { openTurn } as SessionsService }, log);
    recorder.record(exchange, call);
    await recorder.idle();
    expect(lines).to.deep.equal(['[{"code":"store_error","correlation_id":"corr-1"},"an exchange was not recorded"]']);
  });

  it('does nothing while there is no store', async () => {
    const recorder = new ExchangeRecorder({ current: undefined }, silentLog);
    recorder.record(exchange, call);
    await recorder.idle();
  });

  it('takes the texts of the user since the last answer', () => {
    const toolCalls = [{ id: 'c', name: 'f', arguments: '{}' }];
    expect(
      newUserTexts([
        { role: 'user', content: 'old' },
        { role: 'assistant', content: 'answer' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: '', toolCalls },
        { role: 'tool', toolCallId: 'c', content: 'result' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'two' },
            { type: 'image', data: 'AAAA' },
          ],
        },
      ]),
    ).to.deep.equal(['one', 'two']);
  });
});

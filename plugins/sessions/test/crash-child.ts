/** A process that writes turns as fast as it can, until it is killed. Its database comes as JSON in its argument. */

import { openDatabase, silentLog } from 'mortise/sdk/testing';
import { RunningTurns } from '../cancel-turns.js';
import { sessionTables } from '../migrations/0001-sessions.js';
import { chatSummaries } from '../migrations/0002-chat-summaries.js';
import { sessionsService } from '../service.js';
import { openStore } from '../store/store.js';

const host = await openDatabase(JSON.parse(process.argv[2] ?? '{}'), silentLog);
const database = host.forPlugin('sessions', ['realtime']);
await database.migrate([sessionTables, chatSummaries]);
const store = openStore(database, `child-${process.pid}`, silentLog);
const service = sessionsService({ store, running: new RunningTurns(), ttlMs: 60_000 });

async function writeTurns(sessionId: string): Promise<never> {
  for (let n = 0; ; n += 1) {
    const result = await service.openTurn({
      session: { channel: 'console', userId: 'crash', sessionId },
      input: [{ role: 'user', content: `question ${n}` }],
      correlationId: 'corr-0000000000000000',
      traceId: '0'.repeat(32),
    });
    if (result.kind !== 'open') throw new Error(result.kind);
    const calls = [
      { id: 'a', name: 'echo', arguments: '{}' },
      { id: 'b', name: 'echo', arguments: '{}' },
    ];
    await result.turn.append([{ role: 'assistant', content: '', toolCalls: calls }]);
    for (const { id } of calls) await result.turn.append([{ role: 'tool', content: '{}', toolCallId: id }]);
    await result.turn.close({ status: 'completed', messages: [{ role: 'assistant', content: 'done' }], steps: 2 });
  }
}

await Promise.all(['s0', 's1', 's2', 's3'].map(writeTurns));

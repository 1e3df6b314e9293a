import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figure, MeasureOptions } from '../parts/measure.js';
import { type Gateways, messageBody } from './gateways.js';

const streams = 2_000;
/** One reader in five stops for a while after each piece. */
const slowEvery = 5;
const slowMs = 30;

/** M4: many concurrent streams, cut at random; each must arrive as it was sent. */
export async function measureManyStreams({ all }: Gateways, { say }: MeasureOptions): Promise<readonly Figure[]> {
  const gateway = all.find(({ name }) => name === 'mortise');
  if (!gateway) return [];
  const agent = new Agent({ keepAlive: false, maxSockets: streams });
  /** For each stream that did not arrive as sent: its status, or the error that cut it. */
  const reasons: string[] = [];
  let done = 0;
  const read = async (seed: number): Promise<void> => {
    const body = JSON.stringify(messageBody({ stream: true, metadata: { seed } }));
    const hash = createHash('sha256');
    let expected: unknown;
    let reason = 'no answer';
    try {
      await new Promise<void>((resolve, reject) => {
        const headers = { ...gateway.headers, 'content-type': 'application/json' };
        const sent = request(`${gateway.origin}/v1/messages`, { agent, method: 'POST', headers });
        sent.on('error', reject);
        sent.on('response', (response) => {
          expected = response.headers['x-sha256'];
          reason = `status ${response.statusCode}`;
          void (async () => {
            for await (const part of response) {
              hash.update(part as Buffer);
              if (seed % slowEvery === 0) await sleep(slowMs);
            }
          })().then(resolve, reject);
        });
        sent.end(body);
      });
    } catch (error) {
      reason = `${reason}, ${error}`;
    }
    if (hash.digest('hex') !== expected) reasons.push(reason);
    done += 1;
    if (done % 500 === 0) say(`streams: ${done} of ${streams}`);
  };
  const from = performance.now();
  await Promise.all(Array.from({ length: streams }, (_, seed) => read(seed)));
  agent.destroy();
  for (const [reason, { length }] of Map.groupBy(reasons, (one) => one)) say(`streams: ${length} ended with ${reason}`);
  return [
    {
      name: `mortise: streams of ${streams} that did not arrive as sent`,
      value: reasons.length,
      unit: '',
      target: '<= 0',
    },
    { name: `mortise: time for ${streams} concurrent streams`, value: (performance.now() - from) / 1_000, unit: 's' },
  ];
}

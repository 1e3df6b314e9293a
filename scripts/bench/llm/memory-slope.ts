import { readFileSync } from 'node:fs';
import type { Figure, MeasureOptions } from '../parts/measure.js';
import { createPoster } from '../parts/post-json.js';
import { type Gateways, messageBody } from './gateways.js';

const callers = 64;
/** Requests between two readings. */
const step = 5_000;
/** Share of the requests that warm up. */
const warmUp = 0.3;

/** M5: growth of the resident memory, by least squares over the readings after the warm-up. */
export function memorySlope(requests: number) {
  return async ({ all, product }: Gateways, { say }: MeasureOptions): Promise<readonly Figure[]> => {
    const gateway = all.find(({ name }) => name === 'mortise');
    if (!gateway) return [];
    const poster = createPoster(gateway.origin, callers);
    const readings: { requests: number; megabytes: number }[] = [];
    let sent = 0;
    const caller = async (): Promise<void> => {
      while (sent < requests) {
        sent += 1;
        const number = sent;
        const { status } = await poster.post('/v1/messages', messageBody(), gateway.headers);
        if (status !== 200) throw new Error(`the product answered ${status}`);
        if (number % step !== 0) continue;
        readings.push({ requests: number, megabytes: residentMegabytes(product.server.child.pid ?? 0) });
        say(`memory: ${number} requests, ${readings.at(-1)?.megabytes.toFixed(0)} MB`);
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));
    poster.close();
    const counted = readings.filter((reading) => reading.requests > requests * warmUp);
    return [
      {
        name: `mortise: memory per 100,000 requests, over ${requests}`,
        value: slope(counted) * 100_000,
        unit: 'MB',
        target: '<= 1',
      },
    ];
  };
}

function slope(readings: readonly { readonly requests: number; readonly megabytes: number }[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const x = mean(readings.map(({ requests }) => requests));
  const y = mean(readings.map(({ megabytes }) => megabytes));
  const above = readings.reduce((sum, one) => sum + (one.requests - x) * (one.megabytes - y), 0);
  return above / readings.reduce((sum, one) => sum + (one.requests - x) ** 2, 0);
}

/** From the kernel's table, in pages of 4 KiB; NaN where the system has none. */
function residentMegabytes(pid: number): number {
  try {
    return (Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4_096) / 1_048_576;
  } catch {
    return Number.NaN;
  }
}

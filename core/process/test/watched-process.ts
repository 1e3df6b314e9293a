import { connect, createServer, type Socket } from 'node:net';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { startWatchdog } from '../watchdog.js';

/** A process with a watchdog and a selected behaviour: `node watched-process.js FOLDER BEHAVIOUR`. */
const [folder = '', behaviour = ''] = process.argv.slice(2);
const limitMs = 1_000;

function compute(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Keeps so many sockets ready that the event loop rarely runs its timers. */
async function isCrowded(): Promise<void> {
  const pairs = 1_200;
  const end = performance.now() + 3 * limitMs;
  const answer = (socket: Socket): void => {
    socket.on('data', (chunk) => {
      if (performance.now() > end) process.exit(0);
      compute(0.3);
      socket.write(chunk);
    });
  };
  const path = join(folder, 'crowd.sock');
  let accepted = 0;
  const server = createServer((socket) => {
    accepted += 1;
    answer(socket);
  });
  await new Promise<void>((resolve) => server.listen({ path, backlog: 2 * pairs }, resolve));
  const clients = Array.from({ length: pairs }, () => connect(path));
  while (accepted < pairs) await new Promise((resolve) => setImmediate(resolve));
  for (const client of clients) {
    answer(client);
    client.write('.');
  }
}

/**
 * Computes for less than half the limit, and mostly waits for a CPU because of its low priority. On a busy machine it
 * ends after four times the limit, however little it has computed.
 */
function isStarved(): void {
  setPriority(10);
  const end = performance.now() + 4 * limitMs;
  const before = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(before);
    if ((user + system) / 1_000 > 0.4 * limitMs || performance.now() > end) process.exit(0);
  }
}

const behaviours: Readonly<Record<string, () => void>> = {
  computes: () => {
    for (;;);
  },
  sleeps: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  'is-crowded': () => void isCrowded(),
  'is-starved': isStarved,
};

startWatchdog({
  seconds: limitMs / 1_000,
  journalFile: join(folder, 'boot.json'),
  folders: () => new Map([['/watched-process.js', 'watched']]),
});
setTimeout(() => behaviours[behaviour]?.(), 100);

import { brief, type Evidence, groupBy, memoryOf, spaceOf } from '../evidence.js';

const deadStates: readonly string[] = ['dead', 'merged'];

/**
 * No memory is in the backend twice, and none that no client requested. A memory may be there although its row
 * became a dead letter, and its client may have stored it again: such duplicates are counted separately.
 */
export function* once({ journal, ledger, clientRecords }: Evidence): Iterable<string> {
  const stored = journal.filter((line) => line.as === 'stored');
  const keyOf = (line: (typeof stored)[number]) => String(line.metadata.mortise_key ?? '');
  for (const [key, lines] of groupBy(stored, keyOf)) {
    if (lines.length > 1)
      yield `${key} is in the backend ${lines.length} times: ${lines.map(({ id }) => id).join(', ')}.`;
  }
  const dead = new Set(ledger.filter(({ state }) => deadStates.includes(state)).map(({ memory_key }) => memory_key));
  const requested = new Set(clientRecords.map(({ space, text }) => memoryOf(space, text)));
  for (const [memory, lines] of groupBy(stored, (line) => memoryOf(spaceOf(line), line.content))) {
    const [first] = lines;
    const living = lines.filter((line) => !dead.has(keyOf(line)));
    if (first === undefined) continue;
    if (!requested.has(memory)) yield `${brief(first.content)} is in the backend, and no client requested it.`;
    if (living.length > 1)
      yield `${brief(first.content)} is in the backend as ${living.map(({ id }) => id).join(', ')}.`;
  }
}

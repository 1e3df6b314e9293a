import { brief, type Evidence, memoryOf, spaceOf } from '../evidence.js';
import { groupBy } from '../group-by.js';

const buried: readonly string[] = ['dead', 'merged'];

/**
 * No memory is in the backend twice, and none that nobody asked for. A memory whose letter died unseen may be there, and
 * its client, told so, may have stored it again: that is counted apart.
 */
export function* once({ journal, ledger, told }: Evidence): Iterable<string> {
  const stored = journal.filter((line) => line.as === 'stored');
  const keyOf = (line: (typeof stored)[number]) => String(line.metadata.mortise_key ?? '');
  for (const [key, lines] of groupBy(stored, keyOf)) {
    if (lines.length > 1)
      yield `${key} is in the backend ${lines.length} times: ${lines.map(({ id }) => id).join(', ')}.`;
  }
  const dead = new Set(ledger.filter(({ state }) => buried.includes(state)).map(({ memory_key }) => memory_key));
  const wished = new Set(told.map(({ space, text }) => memoryOf(space, text)));
  for (const [memory, lines] of groupBy(stored, (line) => memoryOf(spaceOf(line), line.content))) {
    const [first] = lines;
    const living = lines.filter((line) => !dead.has(keyOf(line)));
    if (first === undefined) continue;
    if (!wished.has(memory)) yield `${brief(first.content)} is in the backend, and nobody asked for it.`;
    if (living.length > 1)
      yield `${brief(first.content)} is in the backend as ${living.map(({ id }) => id).join(', ')}.`;
  }
}

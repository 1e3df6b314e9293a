import { setTimeout as delay } from 'node:timers/promises';
import type { Spell } from '../plan/spells.js';
import type { Backend } from './backend.js';

/** Takes the backend from one mood to the next, as long as it may. @returns how often each was cast. */
export async function castSpells(
  spells: Iterable<Spell>,
  backend: Backend,
  signal: AbortSignal,
): Promise<Readonly<Record<string, number>>> {
  const cast: Record<string, number> = {};
  for (const spell of spells) {
    if (signal.aborted) break;
    await backend.turn(spell);
    cast[spell.name] = (cast[spell.name] ?? 0) + 1;
    await delay(spell.ms, undefined, { signal }).catch(() => undefined);
  }
  await backend.turn({ call: 'any', fault: null });
  return cast;
}

import type { StoredMessage } from 'mortise/contracts/sessions';
import { messageTokens, mostTokens, sum } from './context-budget.js';

/** Turns that are sent however large they are. */
const fewest = 2;

export interface FittedHistory {
  readonly rows: readonly StoredMessage[];
  /** Turns that were left out. */
  readonly omitted: number;
}

/** The newest turns that fit into the budget, whole; `rows` are those of the turns before the current one, oldest first. */
export function fitHistory(rows: readonly StoredMessage[], budget: number): FittedHistory {
  if (sum(rows.map(mostTokens)) <= budget) return { rows, omitted: 0 };
  const turns = groupTurns(rows);
  let left = budget;
  let kept = 0;
  for (const turn of turns.toReversed()) {
    left -= sum(turn.map(messageTokens));
    if (left < 0 && kept >= fewest) break;
    kept += 1;
  }
  return { rows: turns.slice(turns.length - kept).flat(), omitted: turns.length - kept };
}

/** Rows of one turn stand together; rows without one, such as imported ones, are one turn with each thing a user says. */
function groupTurns(rows: readonly StoredMessage[]): readonly (readonly StoredMessage[])[] {
  const turns: StoredMessage[][] = [];
  for (const row of rows) {
    const last = turns.at(-1);
    const goesOn = last?.[0]?.turnId === row.turnId && (row.turnId !== null || row.role !== 'user');
    if (last && goesOn) last.push(row);
    else turns.push([row]);
  }
  return turns;
}

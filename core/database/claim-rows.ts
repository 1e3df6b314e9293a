import type { ClaimRows, SqlExpression, SqlValue } from '../sdk/host/database.js';
import type { ClaimPlan } from './engine.js';
import type { Names } from './names.js';

const column = /^[a-z_][a-z0-9_]*$/i;
const ordering = /^[a-z_][a-z0-9_]*( asc| desc)?$/i;

/** Writes a claim with physical names. Column names come from code, and are checked all the same. */
export function claimPlan(claim: ClaimRows, names: Names): ClaimPlan {
  const setBindings: SqlValue[] = [];
  const set = Object.entries(claim.set).map(([name, value]) => {
    if (!column.test(name)) throw new TypeError(`"${name}" is no column name.`);
    if (isExpression(value)) {
      setBindings.push(...(value.bindings ?? []));
      return `${name} = ${value.sql}`;
    }
    setBindings.push(value);
    return `${name} = ?`;
  });
  for (const name of claim.orderBy) if (!ordering.test(name)) throw new TypeError(`"${name}" is no order.`);
  if (!column.test(claim.key)) throw new TypeError(`"${claim.key}" is no column name.`);
  if (!Number.isSafeInteger(claim.limit) || claim.limit < 1) throw new RangeError('A claim takes at least one row.');
  return {
    table: names.table(claim.table),
    key: claim.key,
    where: names.expand(claim.where),
    whereBindings: claim.bindings ?? [],
    orderBy: [...claim.orderBy, claim.key].join(', '),
    limit: claim.limit,
    set: set.join(', '),
    setBindings,
  };
}

function isExpression(value: ClaimRows['set'][string]): value is SqlExpression {
  return typeof value === 'object' && value !== null && 'sql' in value && typeof value.sql === 'string';
}

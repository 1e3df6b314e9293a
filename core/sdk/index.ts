/** All that a plugin may import: types, and a few small pure functions. */
export {
  createDrain,
  createGroupCommit,
  createTransactionGroup,
  type Drain,
  type GroupCommit,
  type GroupOutcome,
  WriteBehind,
} from './batching.js';
export * from './bulk-sql.js';
export * from './content-guard-policy.js';
export * from './context.js';
export * from './errors.js';
export * from './events.js';
export * from './evidence-uri.js';
export * from './host/index.js';
export * from './json.js';
export * from './make-folders.js';
export * from './manifest.js';
export { maskDeep, redactSecrets } from './mask.js';
export * from './memory-policy-checks.js';
export * from './observation.js';
export * from './plugin.js';
export * from './plugin-health.js';
export * from './points/index.js';
export * from './points.js';
export * from './publish-result.js';
export * from './services/index.js';
export { decodeBase64, isBlankText, isUnstorableJson, isUnstorableText, newUlid, readTime } from './text.js';
export * from './timing.js';
export * from './turn.js';

/** The SDK: everything that a plugin may import. */

export * from './audit-entry.js';
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
export * from './context.js';
export * from './contribution-cache.js';
export * from './errors.js';
export * from './events.js';
export * from './host/index.js';
export * from './json.js';
export { listPage } from './list-page.js';
export * from './make-folders.js';
export * from './manifest.js';
export { isSensitiveName, maskDeep, redactSecrets } from './mask.js';
export * from './new-id.js';
export * from './observation.js';
export * from './plugin.js';
export * from './plugin-health.js';
export * from './points/index.js';
export * from './points.js';
export * from './server-sent-events.js';
export * from './services.js';
export * from './stored-snapshot.js';
export {
  decodeBase64,
  isBlankText,
  isUnstorableJson,
  isUnstorableText,
  newUlid,
  oneLine,
  printableJson,
  printableText,
  readTime,
} from './text.js';
export * from './timing.js';

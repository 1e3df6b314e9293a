/** JSON Schema for the whole host: compiled once, with readable violations. */

export { cacheValidators } from './cached-validators.js';
export { createSchemaCompiler, deepFreeze, loadSchema } from './compile.js';
export { allowedBy, issueClass } from './issues.js';
export { exceedsDepth, isTooDeep, maxFileDepth, withinTime } from './limits.js';
export type * from './types.js';
export { resolveLocal, subSchemas } from './walk.js';

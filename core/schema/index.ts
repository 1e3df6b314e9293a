/** JSON Schema for all of the host: compile once, check often, say plainly what is wrong. */

export { cacheValidators } from './cached-validators.js';
export { createSchemaCompiler, deepFreeze, loadSchema } from './compile.js';
export { allowedBy, issueClass } from './issues.js';
export { exceedsDepth, isTooDeep, maxFileDepth, withinTime } from './limits.js';
export type * from './types.js';
export { resolveLocal, subSchemas } from './walk.js';

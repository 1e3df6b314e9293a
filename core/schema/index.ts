/** JSON Schema for all of the host: compile once, check often, say plainly what is wrong. */
export { allowedBy } from './allowed.js';
export { createSchemaCompiler } from './compile.js';
export { deepFreeze } from './freeze.js';
export { issueClass } from './issues.js';
export { deepestFile, exceedsDepth, isTooDeep } from './json-depth.js';
export { keepValidators } from './kept-validators.js';
export { loadSchema } from './load.js';
export type * from './types.js';
export { isSchemaObject, resolveLocal, subSchemas } from './walk.js';
export { withinTime } from './within-time.js';

/** Files: kept inside their roots, replaced as a whole. */
export { confine } from './confine.js';
export { createFiles } from './files-service.js';
export type * from './types.js';
export { writeAtomic } from './write-atomic.js';

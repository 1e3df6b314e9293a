/** Files: confined to their roots and replaced atomically. */
export { confine } from './confine.js';
export type * from './files-service.js';
export { createFiles } from './files-service.js';
export { parseJson, readSmallFile } from './read-small-file.js';
export { writeAtomic } from './write-atomic.js';

/** How tools run programs for a model: a scrubbed environment, bounded output, and everything ended together. */
export * from './command-environment.js';
export * from './output-buffer.js';
export * from './process-tree.js';
export * from './start-program.js';

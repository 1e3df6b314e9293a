/** The words in which tests write what the API answers. */
export * from './answers.js';
export * from './wire.js';

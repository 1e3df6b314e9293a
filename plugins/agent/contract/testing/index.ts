export * from './answers.js';
export * from './fake-model.js';
export * from './fake-plugins.js';

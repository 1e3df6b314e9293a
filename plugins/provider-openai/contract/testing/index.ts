export * from './fake-openai.js';
export * from './openai-compatible.js';

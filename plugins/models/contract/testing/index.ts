export * from './answers.js';
export * from './scripted-upstream.js';

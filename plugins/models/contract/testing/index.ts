export * from './answers.js';
export * from './recorded-bodies.js';
export * from './scripted-provider.js';
export * from './scripted-upstream.js';

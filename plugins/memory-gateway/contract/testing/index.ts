export * from './conversations.js';
export * from './memory-host.js';
export * from './memory-policy.js';
export * from './texts.js';

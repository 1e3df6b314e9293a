export * from './memory-host.js';
export * from './memory-policy.js';

export * from './memory-policy.js';

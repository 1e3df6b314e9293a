export * from './kb-host.js';

export * from './socket-client.js';

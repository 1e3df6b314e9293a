export * from './embedder.js';

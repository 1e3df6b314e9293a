export * from './fake-openmemory.js';

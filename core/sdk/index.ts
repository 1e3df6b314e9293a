/** All that a plugin may import: types, and a few small pure functions. */
export * from './bulk-sql.js';
export * from './canonical-json.js';
export * from './context.js';
export * from './errors.js';
export * from './events.js';
export * from './evidence-uri.js';
export * from './host/index.js';
export * from './manifest.js';
export * from './mask.js';
export * from './new-ulid.js';
export * from './observation.js';
export * from './plugin.js';
export * from './points/index.js';
export * from './points.js';
export * from './services/index.js';
export * from './turn.js';
export * from './when-serving.js';

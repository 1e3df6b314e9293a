/**
 * One contract per extension point, as mocha tests that plugin authors run. Each is also
 * a suite of checks (`toolSuite`) that `checkContract` runs without mocha.
 */
export * from './channel.js';
export * from './command.js';
export * from './common-checks.js';
export { type Check, type Contract, checkContract, describeContract, type Subject } from './contract.js';
export * from './cron-node.js';
export * from './gate-stage.js';
export * from './hostile.js';
export * from './memory-backend.js';
export { memoryItem } from './memory-backend-calls.js';
export * from './outcome.js';
export * from './prompt-source.js';
export * from './provider.js';
export * from './route.js';
export * from './suite-samples.js';
export * from './tool.js';

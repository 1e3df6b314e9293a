export { MortiseError } from 'mortise/sdk';
export { silentLog } from 'mortise/sdk/testing';

import type { GateControl, GateService } from './gate.js';

export * from './gate.js';
export * from './list-limit.js';

declare module 'mortise/sdk' {
  interface Services {
    gate: GateService;
    'gate-control': GateControl;
  }
}

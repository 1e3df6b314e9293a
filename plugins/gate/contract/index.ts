import type { GateControl, GateService } from './gate.js';

export * from './gate.js';

declare module 'mortise/sdk' {
  interface Services {
    gate: GateService;
    'gate-control': GateControl;
  }
}

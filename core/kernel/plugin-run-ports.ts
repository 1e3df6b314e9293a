import type { Contribution } from '../sdk/points.js';
import type { KernelPorts } from './deps.js';
import type { EventBus } from './event-bus.js';
import type { Turn } from './lifecycle.js';
import type { Registry } from './registry.js';
import type { ServiceRegistry } from './service-registry.js';
import type { ShutdownDeadline, Unfinished } from './shutdown-deadline.js';

/** What one life of a plugin needs of the kernel. */
export interface PluginRunPorts {
  readonly kernel: KernelPorts;
  readonly registry: Registry;
  readonly services: ServiceRegistry;
  readonly events: EventBus;
  /** One import at a time. */
  readonly imports: Turn;
  readonly deadline: ShutdownDeadline;
  declared(point: string): readonly Contribution[];
  onFault(plugin: string, code: string, error: unknown): void;
  /** The process ends and does not wait for it: nobody's fault. */
  onUnfinished(unfinished: Unfinished): void;
}

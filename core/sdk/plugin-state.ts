/** The state of a plugin in the running process. */
export type PluginStateName =
  | 'disabled'
  | 'checking'
  | 'blocked'
  | 'starting'
  | 'active'
  | 'draining'
  | 'failed'
  | 'quarantined';

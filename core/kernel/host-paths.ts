/** Paths that the host itself serves, in every state of the plugins. A manifest that declares one blocks its plugin. */
export const hostPaths = ['/healthz', '/ready', '/version'] as const;

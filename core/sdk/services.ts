/** Services that plugins provide to plugins. The contract of each owner adds its own by declaration merging. */
// biome-ignore lint/suspicious/noEmptyInterface: widened by contracts
export interface Services {}

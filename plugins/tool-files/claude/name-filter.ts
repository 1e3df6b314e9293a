import picomatch from 'picomatch';

/**
 * Whether a path fits one of the globs.
 *
 * @param byName a glob without a slash is compared with the last segment of the path
 */
export function nameFilter(globs: readonly string[], byName = false): (path: string) => boolean {
  const filters = globs.map((glob) => picomatch(glob, { dot: true, basename: byName && !glob.includes('/') }));
  return (path) => filters.some((fits) => fits(path));
}

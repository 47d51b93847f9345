/** The code of a page did not come: no network, or a service that was updated and has other files now. */
export class PageLoadError extends Error {
  override readonly name = 'PageLoadError';
}

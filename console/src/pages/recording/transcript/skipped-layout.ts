/**
 * Leaves the content of a paragraph without layout while it is far from the window: of a long text only what is in sight
 * is laid out.
 * @param height of the paragraph in pixels, so that nothing moves; undefined: it is laid out
 */
export function skipLayout(block: HTMLElement | null, height: number | undefined): void {
  if (!block || height === undefined) return;
  block.style.setProperty('content-visibility', 'auto');
  block.style.setProperty('contain-intrinsic-block-size', `auto ${height}px`);
}

export function showLayout(block: HTMLElement | null): void {
  block?.style.removeProperty('content-visibility');
  block?.style.removeProperty('contain-intrinsic-block-size');
}

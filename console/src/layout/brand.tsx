/** The mark of the service: a short wave. */
export function Brand() {
  return (
    <span class="brand">
      <svg class="brand-mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
        <rect class="brand-ground" width="32" height="32" rx="9" />
        <path class="brand-wave" d="M8 14.5v3m4-7v11m4-15.5v20m4-15v10m4-6.5v3" />
      </svg>
      Voice notes
    </span>
  );
}

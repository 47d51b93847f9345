/**
 * The query of a handler that takes no parameters: `@Query() _query: NoQuery`. Any parameter is refused, so that a
 * misspelt one is never ignored (D16).
 */
export class NoQuery {}

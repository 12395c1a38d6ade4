/** Brands: a number that is a revision is not any number. See STYLE B2. */
declare const brand: unique symbol;

/** `T` that can only be made by a brand maker, which checks the invariant of `Name`. */
export type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** Brands tell numbers of different meaning apart: a revision is not just any number. See STYLE B2. */
declare const brand: unique symbol;

/** A `T` that only a brand maker can make, which checks the invariant of `Name`. */
export type Brand<T, Name extends string> = T & { readonly [brand]: Name };

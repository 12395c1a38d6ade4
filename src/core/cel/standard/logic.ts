/** Types of the operators that the evaluator implements itself. */
import { declare, free, parameter, types, type Library } from "../libraries/library.ts";
import { noOverload } from "./arithmetic.ts";

const a = parameter("A");
const { bool } = types;

function ofEvaluator(): never {
  throw noOverload();
}

export const logicLibrary: Library = {
  name: "stdlib.logic",
  since: 0,
  functions: [
    declare("_?_:_", free("conditional", [bool, a, a], a, ofEvaluator)),
    declare("_&&_", free("logical_and", [bool, bool], bool, ofEvaluator)),
    declare("_||_", free("logical_or", [bool, bool], bool, ofEvaluator)),
    declare(
      "!_",
      free("logical_not", [bool], bool, (value) => {
        if (typeof value !== "boolean") throw noOverload();
        return !value;
      }),
    ),
    declare("@not_strictly_false", free("not_strictly_false", [bool], bool, ofEvaluator)),
  ],
};

import { graphql } from "../../gql/index.ts";

export const GridRowFields = graphql(`
  fragment GridRow on DatasetRow {
    id
    key
    name
    values
    idealOutput
  }
`);

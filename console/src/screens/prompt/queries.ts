import type { PromptHeadQuery, VersionTextsQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";

export const PromptHead = graphql(`
  query PromptHead($slug: String!) {
    prompt(slug: $slug) {
      id
      slug
      name
      description
      status
      protectedTags
      availableVersions
      tags {
        id
        label
        version
      }
      versions(last: 100) {
        nodes {
          id
          version
          createdAt
        }
        pageInfo {
          hasPreviousPage
        }
      }
    }
  }
`);

export const VersionTexts = graphql(`
  query VersionTexts($slug: String!, $version: String!) {
    describePrompt(slug: $slug, version: $version) {
      promptVersion {
        id
        version
        createdAt
        systemText
        text
        messages {
          role
          name
          content
          placeholder
        }
        model {
          provider
          model
          client
          version
          parameters
        }
        variables {
          label
          type
          description
        }
      }
    }
  }
`);

export type PromptHeadOf = NonNullable<PromptHeadQuery["prompt"]>;
export type Version = NonNullable<NonNullable<VersionTextsQuery["describePrompt"]>["promptVersion"]>;

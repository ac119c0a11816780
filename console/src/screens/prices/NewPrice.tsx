import { useState } from "react";
import { useSave } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Dialog } from "../../parts/Dialog.tsx";
import { TextField } from "../../parts/Field.tsx";
import { SaveForm } from "../../parts/SaveForm.tsx";
import { useToast } from "../../parts/Toast.tsx";

const SetPrice = graphql(`
  mutation SetPrice($input: SetModelPriceInput!) {
    setModelPrice(input: $input) {
      modelPrice {
        id
        model
      }
    }
  }
`);

export function NewPrice({ onClose }: { onClose: () => void }) {
  const save = useSave(SetPrice);
  const [texts, setTexts] = useState({ model: "", provider: "", inputPrice: "", outputPrice: "" });
  const toast = useToast();
  const submit = async () => {
    const { model, provider, inputPrice, outputPrice } = texts;
    const prices = { inputPrice: Number(inputPrice), outputPrice: Number(outputPrice) };
    if (!(await save.run({ input: { model, provider: provider || null, ...prices } }))) return;
    toast(`The price of ${model} is set`);
    onClose();
  };
  const field = (name: keyof typeof texts) => ({
    value: texts[name],
    onChange: (event: React.ChangeEvent<HTMLInputElement>) =>
      setTexts((now) => ({ ...now, [name]: event.target.value })),
  });
  const amount = { type: "number", min: 0, step: "any", required: true } as const;
  return (
    <Dialog title="Set a price" onClose={onClose}>
      <SaveForm verb="Set" save={save} onSubmit={submit} onCancel={onClose}>
        <TextField
          label="Model"
          required
          {...field("model")}
          hint="As prompt versions name it, in any case."
        />
        <TextField label="Provider" {...field("provider")} hint="Empty for every provider." />
        <TextField label="Dollars per million tokens of input" {...amount} {...field("inputPrice")} />
        <TextField label="Dollars per million tokens of output" {...amount} {...field("outputPrice")} />
      </SaveForm>
    </Dialog>
  );
}

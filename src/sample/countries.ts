/**
 * Countries whose flags are plain stripes, with their capitals and currencies. Codes are those of ISO 3166-1 and
 * ISO 4217; colours are listed from left to right or from top to bottom.
 */
export const countries = [
  country("France", "FR", "Paris", "EUR", "vertical", ["#000091", "#ffffff", "#e1000f"]),
  country("Italy", "IT", "Rome", "EUR", "vertical", ["#008c45", "#f4f9ff", "#cd212a"]),
  country("Ireland", "IE", "Dublin", "EUR", "vertical", ["#169b62", "#ffffff", "#ff883e"]),
  country("Belgium", "BE", "Brussels", "EUR", "vertical", ["#000000", "#fdda24", "#ef3340"]),
  country("Romania", "RO", "Bucharest", "RON", "vertical", ["#002b7f", "#fcd116", "#ce1126"]),
  country("Germany", "DE", "Berlin", "EUR", "horizontal", ["#000000", "#dd0000", "#ffce00"]),
  country("the Netherlands", "NL", "Amsterdam", "EUR", "horizontal", ["#ae1c28", "#ffffff", "#21468b"]),
  country("Luxembourg", "LU", "Luxembourg", "EUR", "horizontal", ["#ef3340", "#ffffff", "#00a3e0"]),
  country("Austria", "AT", "Vienna", "EUR", "horizontal", ["#c8102e", "#ffffff", "#c8102e"]),
  country("Hungary", "HU", "Budapest", "HUF", "horizontal", ["#ce2939", "#ffffff", "#477050"]),
  country("Estonia", "EE", "Tallinn", "EUR", "horizontal", ["#0072ce", "#000000", "#ffffff"]),
  country("Lithuania", "LT", "Vilnius", "EUR", "horizontal", ["#fdb913", "#006a44", "#c1272d"]),
  country("Poland", "PL", "Warsaw", "PLN", "horizontal", ["#ffffff", "#dc143c"]),
  country("Ukraine", "UA", "Kyiv", "UAH", "horizontal", ["#0057b7", "#ffd700"]),
  country("Monaco", "MC", "Monaco", "EUR", "horizontal", ["#ce1126", "#ffffff"]),
  country("Armenia", "AM", "Yerevan", "AMD", "horizontal", ["#d90012", "#0033a0", "#f2a800"]),
  country("Sierra Leone", "SL", "Freetown", "SLE", "horizontal", ["#1eb53a", "#ffffff", "#0072c6"]),
  country("Gabon", "GA", "Libreville", "XAF", "horizontal", ["#009e60", "#fcd116", "#3a75c4"]),
  country("Mauritius", "MU", "Port Louis", "MUR", "horizontal", ["#ea2839", "#1a206d", "#ffd500", "#00a551"]),
  country("Mali", "ML", "Bamako", "XOF", "vertical", ["#14b53a", "#fcd116", "#ce1126"]),
  country("Guinea", "GN", "Conakry", "GNF", "vertical", ["#ce1126", "#fcd116", "#009460"]),
  country("Nigeria", "NG", "Abuja", "NGN", "vertical", ["#008751", "#ffffff", "#008751"]),
  country("Peru", "PE", "Lima", "PEN", "vertical", ["#d91023", "#ffffff", "#d91023"]),
  country("Chad", "TD", "N'Djamena", "XAF", "vertical", ["#002664", "#fecb00", "#c60c30"]),
];

function country(
  name: string,
  code: string,
  capital: string,
  currency: string,
  stripes: "horizontal" | "vertical",
  colours: string[],
) {
  return { name, code, capital, currency, flag: drawFlag(stripes, colours) };
}

/** The flag as a picture that needs no network: SVG in a data URI. */
function drawFlag(stripes: "horizontal" | "vertical", colours: string[]): string {
  const bars = colours.map((colour, index) => {
    const place =
      stripes === "vertical"
        ? `x="${index}" width="1" height="${colours.length}"`
        : `y="${index}" width="${colours.length}" height="1"`;
    return `<rect ${place} fill="${colour}"/>`;
  });
  const side = colours.length;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${side} ${side}" width="90" height="60" preserveAspectRatio="none">${bars.join("")}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

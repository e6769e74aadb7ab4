"""Files as vendors write them: real headers and notations, made-up prices.

It is long for being a list.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

ROWS = 30
FIRST = dt.date(2023, 12, 18)
FIELDS = ("Open", "High", "Low", "Close", "Volume")
NARROW = "\N{NARROW NO-BREAK SPACE}"
MARKS = {"us": ",.", "de": ".,", "fr": f"{NARROW},", "ch": "'.", "plain": " ,"}
"""The marks of groups and of decimals in some countries."""


class Number(float):
    """A number whose format may be a country's, `M` and a country for millions, or a factor."""

    def __format__(self, code: str) -> str:
        if code.startswith("x"):
            return f"{float(self) * float(code[1:]):g}"
        if code.startswith("M"):
            return Number(self / 1e6).__format__(code[1:]) + "M"
        if code not in MARKS:
            return format(float(self), code or "g")
        group, decimal = MARKS[code][0], MARKS[code][1]
        text = f"{float(self):,.2f}".translate({ord(","): group, ord("."): decimal})
        return text.replace(" ", "")


@dataclass(frozen=True)
class Bar:
    """A bar of which every price is written by `Number`."""

    day: dt.date
    open: Number
    high: Number
    low: Number
    close: Number
    volume: Number

    def fill(self, template: str) -> str:
        """A row of a file. `{epoch}` is midnight in UTC, in seconds."""
        epoch = (self.day - dt.date(1970, 1, 1)).days * 86_400
        return template.format(**{**self.__dict__, "epoch": epoch})


def made_up(rows: int = ROWS, step: int = 1, *, weekends: bool = False) -> list[Bar]:
    """Bars of a price that climbs over a thousand, over a new year."""
    found: list[Bar] = []
    day = FIRST
    while len(found) < rows:
        if weekends or day.weekday() < 5:
            close = 985.25 + 1.75 * len(found) + len(found) % 3
            volume = 1_200_000 + 50_000 * len(found)
            numbers = (close - 0.5, close + 2.25, close - 3.5, close, volume)
            found.append(Bar(day, *map(Number, numbers)))
        day += dt.timedelta(step)
    return found


STOCK, COIN = made_up(), made_up(weekends=True)
ISO = "{day},{open},{high},{low},{close},{volume:.0f}"
PRICES = "{open},{high},{low},{close}"
TITLED = "Date,Open,High,Low,Close,Volume"


@dataclass(frozen=True)
class Example:
    """A file, and what must be read of it, or words of its refusal.

    A file is `above`, `header`, `row` for each bar and `below`; or `content`, if that is given.
    """

    what: str
    name: str
    header: str = TITLED
    row: str = ISO
    form: str = "CSV"
    symbol: str = "AAPL"
    bars: Sequence[Bar] = tuple(STOCK)
    newest_first: bool = False
    above: str = ""
    below: str = ""
    encoding: str = "utf-8"
    content: bytes | None = None
    adjustment: str | None = None
    currency: str | None = None
    tickers: tuple[str, ...] = ()
    """The symbols in its own column, if it has one."""
    refused: str = ""

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        if self.content is not None:
            return self.content
        bars = self.bars[::-1] if self.newest_first else self.bars
        lines = [self.header, *(bar.fill(self.row) for bar in bars), self.below]
        text = self.above + "\n".join(line for line in lines if line) + "\n"
        return text.encode(self.encoding)

    @property
    def columns(self) -> str:
        """The columns as the file names them."""
        if self.content is not None:
            return ""
        return self.header.replace("\t", " ") or f"no header: {self.bars[0].fill(self.row)}"


def yfinance_csv(*, by_ticker: bool) -> bytes:
    """The table of two tickers, of which one costs twice the other, with two rows of names."""
    pairs = [(field, ticker) for field in FIELDS for ticker in ("AAPL", "MSFT")]
    names = [["Price", *(field for field, _ in pairs)], ["Ticker", *(name for _, name in pairs)]]
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerows([*(names[::-1] if by_ticker else names), ["Date", *("" for _ in pairs)]])
    for bar in STOCK:
        numbers = (getattr(bar, field.lower()) * (1 + (name == "MSFT")) for field, name in pairs)
        lines.writerow([bar.day, *numbers])
    return out.getvalue().encode()


def parquet(columns: dict[str, tuple[str, float]], date: str) -> bytes:
    """A Parquet file as pandas writes it, with the field and the factor of each column."""
    values: dict[str, list[dt.datetime] | list[float]] = {
        name: [getattr(bar, field.lower()) * factor for bar in STOCK]
        for name, (field, factor) in columns.items()
    }
    values[date] = [dt.datetime.combine(bar.day, dt.time()) for bar in STOCK]
    out = io.BytesIO()
    pl.DataFrame(values).write_parquet(out)
    return out.getvalue()


PAIRS = {
    f"('{field}', '{name}')": (field, factor)
    for name, factor in (("AAPL", 1.0), ("MSFT", 2.0))
    for field in FIELDS
}
INVESTING = '"{{day:{0}}}","{{close:{1}}}","{{open:{1}}}","{{high:{1}}}","{{low:{1}}}"'
"""Investing.com's row for a notation of dates and of numbers, up to the volume."""


def investing(what: str, name: str, header: str, date: str, country: str) -> Example:
    """Investing.com's file in one of its languages."""
    share = "0.18" if country == "us" else "0,18"
    row = INVESTING.format(date, country) + f',"{{volume:M{country}}}","{share}%"'
    quoted = ",".join(f'"{cell}"' for cell in header.split(","))
    form = "Investing.com"
    return Example(what, name, quoted, row, form, newest_first=True, encoding="utf-8-sig")


READ = (
    Example("any program", "AAPL.csv", TITLED.lower()),
    Example("no volume", "AAPL.csv", "Date,Open,High,Low,Close", "{day}," + PRICES),
    Example("pandas, an index without a name", "AAPL.csv", ",Open,High,Low,Close,Volume"),
    Example("pandas, written twice", "AAPL.csv", f"Unnamed: 0,{TITLED}", f"7,{ISO}"),
    Example(
        "pandas, an index in Parquet",
        "AAPL.parquet",
        form="Parquet",
        content=parquet({field: (field, 1.0) for field in FIELDS}, "__index_level_0__"),
    ),
    Example("R, names of rows", "AAPL.csv", "Open,High,Low,Close,Volume"),
    Example(
        "Yahoo",
        "AAPL.csv",
        "Date,Open,High,Low,Close,Adj Close,Volume",
        "{day} 00:00:00-05:00," + PRICES + ",1.5,{volume:.0f}",
    ),
    Example("Yahoo, by a script", "yahoofinance-AAPL-20040819-20180120.csv", TITLED),
    Example("a symbol in no part of the name", "daily-prices.csv", TITLED, symbol=""),
    Example(
        "yfinance, many tickers",
        "prices.csv",
        form="yfinance CSV",
        content=yfinance_csv(by_ticker=False),
        tickers=("AAPL", "MSFT"),
    ),
    Example(
        "yfinance, grouped by ticker",
        "prices.csv",
        form="yfinance CSV",
        content=yfinance_csv(by_ticker=True),
        tickers=("AAPL", "MSFT"),
    ),
    Example(
        "yfinance, many tickers in Parquet",
        "prices.parquet",
        form="Parquet",
        content=parquet(PAIRS, "Date"),
        tickers=("AAPL", "MSFT"),
    ),
    Example(
        "Nasdaq.com",
        "HistoricalData_1699999999999.csv",
        "Date,Close/Last,Volume,Open,High,Low",
        "{day:%m/%d/%Y},${close},{volume:.0f},${open},${high},${low}",
        "Nasdaq.com",
        "",
        newest_first=True,
    ),
    investing(
        "Investing.com",
        "AAPL Historical Data.csv",
        "Date,Price,Open,High,Low,Vol.,Change %",
        "%m/%d/%Y",
        "us",
    ),
    investing(
        "Investing.com, German",
        "AAPL Historische Daten.csv",
        "Datum,Zuletzt,Eröffn.,Hoch,Tief,Vol.,+/- %",
        "%d.%m.%Y",
        "de",
    ),
    investing(
        "Investing.com, Spanish",
        "Datos históricos AAPL.csv",
        "Fecha,Último,Apertura,Máximo,Mínimo,Vol.,% var.",
        "%d.%m.%Y",
        "de",
    ),
    investing(
        "Investing.com, French",
        "AAPL - Données Historiques.csv",
        "Date,Dernier,Ouv., Plus Haut,Plus Bas,Vol.,Variation %",
        "%d/%m/%Y",
        "de",
    ),
    investing(
        "Investing.com, Italian",
        "Dati Storici AAPL.csv",
        "Data,Ultimo,Apertura,Massimo,Minimo,Vol.,Var. %",
        "%d.%m.%Y",
        "de",
    ),
    investing(
        "Investing.com, Portuguese",
        "Dados Históricos - AAPL.csv",
        "Data,Último,Abertura,Máxima,Mínima,Vol.,Var%",
        "%d.%m.%Y",
        "de",
    ),
    Example(
        "ariva.de",
        "wkn_865985_historic.csv",
        "Datum;Erster;Hoch;Tief;Schlusskurs;Stuecke;Volumen",
        "{day};{open:de};{high:de};{low:de};{close:de};{volume:de};9",
        "ariva.de",
        "",
    ),
    Example(
        "a German spreadsheet",
        "SAP.csv",
        "Datum;Eröffnung;Hoch;Tief;Schluss;Volumen",
        "{day:%d.%m.%Y};{open:plain};{high:plain};{low:plain};{close:plain};{volume:.0f}",
        symbol="SAP",
        encoding="cp1252",
    ),
    Example(
        "a French spreadsheet",
        "MC.csv",
        "Date;Ouverture;Plus haut;Plus bas;Clôture;Volume",
        "{day:%d/%m/%Y};{open:fr};{high:fr};{low:fr};{close:fr};{volume:fr}",
        symbol="MC",
    ),
    Example(
        "a Swiss spreadsheet",
        "NESN.csv",
        "Datum;Eröffnung;Hoch;Tief;Schluss;Volumen;Währung",
        "{day:%d.%m.%Y};{open:ch};{high:ch};{low:ch};{close:ch};{volume:ch};CHF",
        symbol="NESN",
        currency="CHF",
    ),
    Example(
        "Boursorama",
        "MC.txt",
        "date\touv\thaut\tbas\tclot\tvol\tdevise",
        "{day:%d/%m/%Y} 00:00\t{open}\t{high}\t{low}\t{close}\t{volume:.0f}\tEUR",
        "Boursorama",
        "MC",
        currency="EUR",
    ),
    Example(
        "TradingView",
        "NASDAQ_AAPL, 1D.csv",
        "time,open,high,low,close,Volume,RSI",
        "{epoch}," + PRICES + ",{volume:.0f},51.5",
        "TradingView",
    ),
    Example(
        "TradingView, ISO time",
        "BATS_AAPL, 1D_a1b2c.csv",
        "time,open,high,low,close,Volume",
        "{day}T09:30:00-05:00," + PRICES + ",{volume:.0f}",
        "TradingView",
    ),
    Example(
        "MetaTrader 5",
        "AAPL_Daily_202312180000_202402010000.csv",
        "<DATE>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>",
        "{day:%Y.%m.%d}\t{open}\t{high}\t{low}\t{close}\t{volume:.0f}\t0\t3",
        "MetaTrader",
        encoding="utf-16",
    ),
    Example(
        "MetaTrader 4",
        "EURUSD1440.csv",
        "",
        "{day:%Y.%m.%d},00:00," + PRICES + ",{volume:.0f}",
        "MetaTrader",
        "EURUSD",
    ),
    Example(
        "EODHD",
        "AAPL.US.csv",
        "Date,Open,High,Low,Close,Adjusted_close,Volume",
        "{day},{open:x4},{high:x4},{low:x4},{close:x4},{close},{volume:.0f}",
        "EODHD",
        adjustment="split+div",
    ),
    Example(
        "Alpha Vantage",
        "daily_adjusted_AAPL.csv",
        "timestamp,open,high,low,close,adjusted_close,volume,dividend_amount,split_coefficient",
        "{day},{open:x4},{high:x4},{low:x4},{close:x4},{close},{volume:.0f},0.0,1.0",
        "Alpha Vantage",
        newest_first=True,
        adjustment="split+div",
    ),
    Example(
        "Alpha Vantage, by its Python package",
        "AAPL.csv",
        "date,1. open,2. high,3. low,4. close,5. volume",
    ),
    Example(
        "Tiingo",
        "AAPL.csv",
        "date,close,high,low,open,volume,adjClose,adjHigh,adjLow,adjOpen,adjVolume,divCash,splitFactor",
        "{day}T00:00:00.000Z,{close:x4},{high:x4},{low:x4},{open:x4},9,"
        "{close},{high},{low},{open},{volume:.0f},0.0,1.0",
        "Tiingo",
        adjustment="split+div",
    ),
    Example(
        "Quandl WIKI",
        "AAPL.csv",
        "Date,Open,High,Low,Close,Volume,Ex-Dividend,Split Ratio,"
        "Adj. Open,Adj. High,Adj. Low,Adj. Close,Adj. Volume",
        "{day},9,9,9,9,9,0.0,1.0," + PRICES + ",{volume:.0f}",
        "Quandl WIKI",
        adjustment="split+div",
    ),
    Example(
        "CryptoDataDownload",
        "Binance_BTCUSDT_d.csv",
        "unix,date,symbol,open,high,low,close,Volume BTC,Volume USDT",
        "{epoch}000,{day} 00:00:00,BTCUSDT," + PRICES + ",{volume:.0f},9",
        "CryptoDataDownload",
        "BTCUSDT",
        COIN,
        newest_first=True,
        above="https://www.CryptoDataDownload.com\n",
        tickers=("BTCUSDT",),
    ),
    Example(
        "Kaggle, S&P 500",
        "all_stocks_5yr.csv",
        "date,open,high,low,close,volume,Name",
        f"{ISO},AAPL",
        tickers=("AAPL",),
    ),
    Example(
        "Kaggle, historical stock prices",
        "historical_stock_prices.csv",
        "ticker,open,close,adj_close,low,high,volume,date",
        "AAPL,{open},{close},1.5,{low},{high},{volume:.0f},{day}",
        tickers=("AAPL",),
    ),
    Example(
        "Kaggle, cryptocurrencies",
        "coin_Bitcoin.csv",
        "SNo,Name,Symbol,Date,High,Low,Open,Close,Volume,Marketcap",
        "1,Bitcoin,BTC,{day} 23:59:59,{high},{low},{open},{close},{volume:.0f},7",
        symbol="BTC",
        bars=COIN,
        tickers=("BTC",),
    ),
    Example("Kaggle, huge stock market", "aapl.us.txt", f"{TITLED},OpenInt", f"{ISO},0"),
    Example(
        "Barchart",
        "aapl_price-history-02-01-2024.csv",
        "Time,Open,High,Low,Last,Change,%Chg,Volume",
        "{day:%m/%d/%Y}," + PRICES + ",0.5,+0.05%,{volume:.0f}",
        "Barchart",
        newest_first=True,
        below='"Downloaded from Barchart.com as of 02-01-2024 04:05pm CST"',
    ),
    Example(
        "MarketWatch",
        "Download Data - STOCK_US_XNAS_AAPL.csv",
        row='{day:%m/%d/%Y},"{open:us}","{high:us}","{low:us}","{close:us}","{volume:us}"',
        newest_first=True,
    ),
    Example(
        "The Wall Street Journal",
        "HistoricalPrices.csv",
        "Date, Open, High, Low, Close",
        "{day:%m/%d/%y}, {open}, {high}, {low}, {close}",
        symbol="",
        newest_first=True,
    ),
    Example(
        "Google Finance",
        "AAPL.csv",
        row="{day.month}/{day.day}/{day.year} 16:00:00," + PRICES + ",{volume:.0f}",
    ),
    Example(
        "Alpaca",
        "AAPL.csv",
        "symbol,timestamp,open,high,low,close,volume,trade_count,vwap",
        "AAPL,{day} 05:00:00+00:00," + PRICES + ",{volume:.0f},7,9",
        "Alpaca",
        tickers=("AAPL",),
    ),
    Example(
        "Interactive Brokers",
        "AAPL.csv",
        "date,open,high,low,close,volume,average,barCount",
        "{day:%Y%m%d}," + PRICES + ",{volume:.0f},9,7",
        "Interactive Brokers",
    ),
    Example(
        "CoinMarketCap",
        "Bitcoin_18.12.2023-16.01.2024_historical_data_coinmarketcap.csv",
        "timeOpen;timeClose;timeHigh;timeLow;name;open;high;low;close;volume;marketCap;timestamp",
        '"{day}T00:00:00.000Z";"{day}T23:59:59.999Z";"{day}T09:00:00.000Z";"{day}T01:00:00.000Z";'
        '"2781";{open};{high};{low};{close};{volume:.0f};9;"{day}T23:59:59.999Z"',
        "CoinMarketCap",
        "",
        COIN,
        newest_first=True,
    ),
    Example(
        "Polygon",
        "AAPL.csv",
        "v,vw,o,c,h,l,t,n",
        "{volume:.0f},9,{open},{close},{high},{low},{epoch}000,7",
        "Polygon",
    ),
    Example(
        "Databento",
        "glbx.ohlcv-1d.csv",
        "ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume,symbol",
        "{day}T00:00:00.000000000Z,35,1,38," + PRICES + ",{volume:.0f},AAPL",
        "Databento",
        tickers=("AAPL",),
    ),
    Example(
        "stooq.pl",
        "pkn.csv",
        "Data,Otwarcie,Najwyzszy,Najnizszy,Zamkniecie,Wolumen",
        form="stooq.pl",
        symbol="PKN",
    ),
    Example("remarks above the header", "AAPL.csv", above="# made up\n// twice\nsep=,\n\n"),
    Example("months in words", "AAPL.csv", row='"{day:%b %d, %Y}",' + PRICES + ",{volume:.0f}"),
    Example("days before months in words", "AAPL.csv", row="{day:%d-%b-%y}" + ISO[5:]),
)

SLASHES = "{day:%d/%m/%Y}" + ISO[5:]
SHORT = [Bar(dt.date(2024, month, 3), *map(Number, (2, 3, 1, 2, 9))) for month in (4, 5, 6)]
HOURS = "{day} 10:30" + ISO[5:] + "\n{day} 11:30" + ISO[5:] + "\n{day} 12:30" + ISO[5:]
WORKBOOK = b"PK\x03\x04" + bytes(22) + b"\x13\0\0\0[Content_Types].xml" + bytes(60)

REFUSED = (
    Example("hours", "AAPL.csv", row=HOURS, refused="intraday (3.0 rows a day"),
    Example("rows without times", "AAPL.csv", row="\n".join([ISO] * 7), refused="intraday"),
    Example("minutes, by the name", "BINANCE_BTCUSDT, 60.csv", refused="no daily prices (60)"),
    Example("weeks", "AAPL.csv", bars=made_up(step=7), refused="weekly"),
    Example("months", "AAPL.csv", bars=made_up(step=30, weekends=True), refused="monthly"),
    Example("quarters", "AAPL.csv", bars=made_up(step=91, weekends=True), refused="quarterly"),
    Example(
        "dates of two readings",
        "AAPL.csv",
        row="{day:%m/%d/%Y}" + ISO[5:],
        bars=SHORT,
        refused="04/03/2024 in the column Date",
    ),
    Example(
        "dates of both orders",
        "AAPL.csv",
        row=SLASHES,
        below="01/31/2024,1,1,1,1,1",
        refused="mixes dates",
    ),
    Example(
        "numbers of two readings",
        "AAPL.csv",
        row='{day},"1,234","1,240","1,230","1,234",7',
        refused="1,234 can be thousands or a fraction",
    ),
    Example(
        "CoinGecko",
        "btc-usd-max.csv",
        "snapped_at,price,market_cap,total_volume",
        "{day} 00:00:00 UTC,{close},9,{volume:.0f}",
        refused="no column for open, high, low (found: snapped_at",
    ),
    Example(
        "a price of another name",
        "AAPL.csv",
        "Date,Open,High,Low,Adj Foo",
        "{day}," + PRICES,
        refused="no column for close (found: Date, Open, High, Low, Adj Foo); "
        "name it close, last or price.",
    ),
    Example("Excel", "AAPL.xlsx", content=WORKBOOK, refused="save its sheet as CSV"),
    Example("a web page", "AAPL.csv", content=b"<!DOCTYPE html>\n<html>", refused="a web page"),
    Example("a JSON object", "AAPL.csv", content=b'{"chart": {}}', refused="a JSON object"),
    Example("an empty file", "AAPL.csv", content=b"", refused="is empty"),
    Example("a header alone", "AAPL.csv", bars=(), refused="a header and no row"),
)
